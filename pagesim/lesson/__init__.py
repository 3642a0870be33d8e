"""What the chapters ask of their readers: predictions, and the score of these.

``explore`` puts controls above a run. ``progress_file`` keeps the score beside the notebooks, and
``moved`` finds entries that were kept under an earlier number of a chapter.
"""

from pagesim.lesson.prediction import Answer, Prediction, predict
from pagesim.lesson.score import Score, score
from pagesim.lesson.source import Drawing, drawing, source

__all__ = ["Answer", "Drawing", "Prediction", "Score", "drawing", "predict", "score", "source"]
