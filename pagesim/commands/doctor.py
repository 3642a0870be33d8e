"""`pagesim doctor`: what runs on this machine."""

from pagesim.commands.common import Answer, answering


@answering("pagesim doctor --json")
def doctor() -> Answer:
    """Check what runs on this machine, and what is missing.

    Exit code 0 when the course can run, 1 when something is missing; the report names it, and the
    command that installs it.
    """
    from pagesim.commands.findings import examine

    report = examine()
    lines = []
    for finding in report.findings:
        lines.append(f"{finding.status:<8}{finding.name:<12}{finding.detail}")
        if finding.remedy:
            lines.append(f"{'':<20}-> {finding.remedy}")
    missing = [finding.name for finding in report.findings if finding.status == "missing"]
    lines.append(
        "The course can run." if report.ok else f"The course cannot run yet: {', '.join(missing)}."
    )
    return Answer(report.ok, "\n".join(lines), report.as_dict())
