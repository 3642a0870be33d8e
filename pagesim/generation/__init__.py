"""A language model on the simulator's pages.

`engine_on_pages` puts it there, and a `vocabulary` turns text into its tokens and back.

The model is in `kernels.tiny_llm`, which is imported when a function needs it; `engine` steps it,
and `shadow` knows who reads a wrong slot.
"""

from pagesim.generation.setup import engine_on_pages, load_model
from pagesim.generation.vocabulary import Ids, Letters, Subwords, Vocabulary, vocabulary

__all__ = ["Ids", "Letters", "Subwords", "Vocabulary", "vocabulary"]
__all__ += ["engine_on_pages", "load_model"]
