"""`python -m tensortap.analysis`: the analysing process that a server starts; of no use by hand."""

from .apart.child import main

if __name__ == "__main__":
    main()
