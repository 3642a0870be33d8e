"""What pyproject.toml cannot say: kernels/, figures/ and notebooks/ belong to pagesim."""

from setuptools import find_packages, setup

packages = find_packages(include=["pagesim", "pagesim.*"])
folders = {}
for name in ("kernels", "figures"):
    folders[f"pagesim.{name}"] = name
    packages += [f"pagesim.{name}", *(f"pagesim.{name}.{inner}" for inner in find_packages(name))]
# `pagesim lab` copies the chapters from here.
folders["pagesim.notebooks"] = "notebooks"
packages += ["pagesim.notebooks"]
setup(packages=packages, package_dir=folders)
