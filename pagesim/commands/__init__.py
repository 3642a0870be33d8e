"""The commands of `pagesim`, one file each; each imports what it needs when it runs."""
