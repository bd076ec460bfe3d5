from pkg.model import Model, load, MAX_SIZE

if __name__ == "__main__":
    m: Model = load("x")
