"""The analysing process that a server starts (`dump.own_module`); of no use by hand."""

from .workers.worker_main import main

if __name__ == "__main__":
    main()
