import os

token = os.environ["HF_TOKEN"]
pad_token = "<pad>"
user = "AKIAIOSFODNN7EXAMPLE"


def connect(password: str = "correct-horse") -> str:
    return f"postgresql://etl:{password}@warehouse/sales"
