"""A sample.

class NotReal:
"""
MAX_SIZE = 100


class Model(Base):
    """def not_real(): pass"""

    def __init__(self, name):
        self.name = name

    async def predict(self, text: str) -> str:
        return _clean(text)


def _clean(text):
    return text[:MAX_SIZE]


def load(path: str) -> Model:
    return Model(path)
