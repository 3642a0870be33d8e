from tests.kernels.tiny_llm.conftest import one_thread

__all__ = ["one_thread"]
