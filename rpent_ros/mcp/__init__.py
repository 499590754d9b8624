"""The robot's tools for any MCP client: over HTTP on this machine, or over stdio."""
