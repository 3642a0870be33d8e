"""The parts of the site: `tools.course.site` puts them together.

A page is a value (`page.Page`) with its words and its address, whatever it was made from. The
layout, the links between pages and the search are added to all of them at the end.
"""
