"""Lets `python -m pjrt_scaffold` stand for the `pjrt-scaffold` command."""

from pjrt_scaffold._cli import main

if __name__ == "__main__":
    main()
