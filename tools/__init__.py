"""Tools for working on this repository, not part of what it installs."""
