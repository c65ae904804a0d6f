"""Make ``python -m manyview`` the same as ``manyview``."""

from manyview.cli import main

if __name__ == "__main__":
    main()
