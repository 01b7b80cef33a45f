"""`python -m paceline`: the same as `paceline`."""

from paceline.main import main

if __name__ == "__main__":
    main()
