"""Tools that a language model can call, and the toolkit that runs them."""
