"""What pyproject.toml cannot say: the folders kernels/ and figures/ are packages of pagesim."""

from setuptools import find_packages, setup

packages = find_packages(include=["pagesim", "pagesim.*"])
folders = {}
for name in ("kernels", "figures"):
    folders[f"pagesim.{name}"] = name
    packages += [f"pagesim.{name}", *(f"pagesim.{name}.{inner}" for inner in find_packages(name))]
setup(packages=packages, package_dir=folders)
