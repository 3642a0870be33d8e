"""vLLM today."""

from pagesim.exercises.ch11 import found_again, hit_tokens, links, one_step, project

EXERCISES = (
    links.EXERCISE,
    hit_tokens.EXERCISE,
    found_again.EXERCISE,
    one_step.EXERCISE,
    project.EXERCISE,
)
