"""What an x-ray saw of one call: its programs' accesses, counted and judged."""

from dataclasses import dataclass
from typing import Any

from pagesim.kernels.xray import rules
from pagesim.kernels.xray.accesses import Access, Program, Region
from pagesim.kernels.xray.ownership import Arguments, Ownership


@dataclass(frozen=True, slots=True)
class AccessTrace:
    """What every program of a call did to memory; made by `xray`.

    name: the launcher's; result: what it returned; arguments: its arguments by name;
    ownership: the sequences, for calls with block tables; regions: the tensors by name.
    """

    name: str
    result: Any
    arguments: Arguments
    programs: list[Program]
    regions: dict[str, Region]
    ownership: Ownership | None

    def by_program(self) -> list[Program]:
        """Programs in the order in which they ran; a GPU runs them in any order."""
        return self.programs

    def sequences_of(self, program: Program) -> list[int]:
        """The sequences that a program works for, from the rows of q that it read."""
        if self.ownership is None:
            return []
        return self.ownership.sequences(program.rows)

    def readers(self) -> dict[int, list[int]]:
        """For each block that is read, the sequences whose programs read it."""
        found: dict[int, set[int]] = {}
        for program in self.programs:
            for access in program.of("read"):
                for block, _ in access.slots():
                    found.setdefault(block, set()).update(self.sequences_of(program))
        return {block: sorted(found[block]) for block in sorted(found)}

    def problems(self) -> list[str]:
        """One sentence for each rule of `kernels.xray.rules` that is broken; [] if none is."""
        return rules.problems(self.programs, self.regions, self.arguments, self.ownership)

    def check(self) -> "AccessTrace":
        """Return the trace itself, or raise AssertionError with its `problems`."""
        found = self.problems()
        if found:
            more = f"\n… and {len(found) - 8} more" if len(found) > 8 else ""
            raise AssertionError(f"{self.name}:\n" + "\n".join(found[:8]) + more)
        return self

    def summary(self) -> str:
        """A table: one line a tensor and kind of access."""
        lines = [f"{self.name}: {len(self.programs)} programs"]
        width = 2 + max([6, *map(len, self.regions)])
        titles = f"{'tensor':<{width}}{'':<7}{'accesses':>9}{'bytes':>11}{'sectors':>9}{'lines':>8}"
        lines.append(f"{titles}  efficiency")
        groups: dict[tuple[str, str], list[Access]] = {}
        for program in self.programs:
            for access in program.accesses:
                groups.setdefault((access.tensor, access.kind), []).append(access)
        for (tensor, kind), group in groups.items():
            total, sectors = sum(a.num_bytes for a in group), sum(a.sectors for a in group)
            useful = sum(a.efficiency * a.sectors for a in group) / sectors
            lines.append(
                f"{tensor:<{width}}{kind:<7}{len(group):>9}{total:>11}{sectors:>9}"
                f"{sum(a.lines for a in group):>8}{useful:>11.0%}"
            )
        return "\n".join(lines)

    def as_dict(self) -> dict[str, Any]:
        """The trace as plain data (JSON), for figures: cache accesses by slot, in order."""
        cache = next((r for r in self.regions.values() if r.is_cache), None)
        known = self.ownership
        sequences = zip(known.tables, known.lengths, strict=True) if known else []
        return {
            "version": 1,
            "name": self.name,
            "num_blocks": cache.shape[0] if cache else 0,
            "block_size": cache.shape[1] if cache else 0,
            "sequences": [{"table": table, "length": length} for table, length in sequences],
            "programs": [
                {
                    "kernel": program.kernel,
                    "index": list(program.index),
                    "sequences": self.sequences_of(program),
                    "heads": program.heads,
                    "accesses": [_plain(access) for access in program.accesses],
                }
                for program in self.programs
            ],
        }

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(self.summary())


def _plain(access: Access) -> dict[str, Any]:
    return {
        "kind": access.kind,
        "tensor": access.tensor,
        "bytes": access.num_bytes,
        "sectors": access.sectors,
        "lines": access.lines,
        "slots": [list(slot) for slot in access.slots()],
    }
