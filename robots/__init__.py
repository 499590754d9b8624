"""One folder per robot; `import robots.<name>` is its registration."""
