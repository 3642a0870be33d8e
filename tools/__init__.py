"""What is done with this repository, and is no part of what it offers."""
