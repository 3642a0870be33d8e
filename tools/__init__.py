"""Tools for working on this repository, not part of what it installs.

``course`` runs, compares and publishes the chapters, and ``lab`` has JupyterLab's settings for
``make lab``. ``laid_out`` runs mypy and ``imports`` on the packages as a wheel has them, and
``pins`` writes constraints.txt. ``train_walk`` trains the model in kernels/tiny_llm/walk, and
``walk_exam`` examines it. ``word_path`` runs what the picture of chapter 16 shows.
"""
