"""The same server with a second tier: `paged_v1` whose blocks are also copied to the CPU and back.

Copies run beside the steps. A store begins with the step after the one that planned it, a load with
its own step, and each ends when the link allows. A step waits only for copies whose blocks it needs
at once. When nothing can be computed, a step lasts until the next copy ends.
"""

from collections.abc import Hashable, Iterable

from pagesim.checks import check_int
from pagesim.errors import UsageError
from pagesim.journal.effects import Name
from pagesim.simulation.link_clock import LinkClock
from pagesim.simulation.paged_v1 import PagedV1Server, Part
from pagesim.simulation.serving import Step
from pagesim.simulation.tier_use import Copy, TierUse
from pagesim.simulation.waste import Slots
from pagesim.sizing.cost_model import CostModel, Roofline
from pagesim.sizing.link import Link, link_of
from pagesim.v1.config import CacheConfig, SchedulerConfig
from pagesim.v1.offload.config import OffloadingConfig
from pagesim.v1.offload.connector import OffloadingConnector
from pagesim.v1.offload.remote import LOADING, ModelRunnerOutput
from pagesim.v1.offload.worker import OffloadingWorker, reported
from pagesim.v1.output import SchedulerOutput
from pagesim.v1.transfers import Copier, TransferJob

Copying = Link | int
"""How long copies take: as a link says, or so many steps more than the one in which they begin."""


def copying_of(given: str | Link | int) -> Copying:
    """What `PagedV1.link` stands for: a link (see `link_of`), "5 steps", or that number.

    UsageError or TypeError for anything else.
    """
    if isinstance(given, str):
        number, _, unit = given.strip().partition(" ")
        if unit.strip() in ("step", "steps") and number.isdecimal():
            return int(number)
    if isinstance(given, int):
        return check_int("link", given, 0)
    return link_of(given)


class PagedV1TierServer(PagedV1Server):
    """`PagedV1Server` with a second tier; ``use`` says what was copied.

    ``copying`` says how long copies take. In steps, a copy takes no time of its own.
    """

    def __init__(
        self,
        scheduler_config: SchedulerConfig,
        cache_config: CacheConfig,
        offloading_config: OffloadingConfig,
        copying: Copying = 0,
        record: bool = False,
    ) -> None:
        super().__init__(scheduler_config, cache_config, record, offloading_config)
        self.copying = copying
        self.use = TierUse(offloading_config.num_chunks * self._connector.blocks_per_chunk, None)
        self._link: LinkClock | None = None
        self._worker = OffloadingWorker(self._ends_at)
        self._begun: dict[int, tuple[int, float, float]] = {}
        """By job: its step, and from when to when it is copied."""
        self._waiting_since: dict[int, float] = {}
        """By row: when its load began."""
        self._coming: dict[int, int] = {}
        """By row: tokens of a load, until the request runs."""
        self._num_steps = 0
        self._clock = 0.0
        self._loaded: set[int] = set()
        """Rows whose load began since something was computed."""
        self._reloaded: set[int] = set()
        """Those among them that were loaded once more."""
        self._loads_again = False
        """Whether all loads of the present step are of such rows."""
        self.tell(Roofline())

    def tell(self, cost_model: CostModel) -> None:
        """Another clock of the steps: it knows the bytes of a token.

        UsageError if it does not, and copies take time.
        """
        if isinstance(self.copying, Link):
            each = getattr(cost_model, "kv_bytes_per_token", None)
            if each is None:
                raise UsageError(
                    f"cost_model {cost_model!r} has no kv_bytes_per_token: give it one, or say in "
                    "steps how long copies take, as in link=0"
                )
            self.use.block_bytes = each * self.scheduler.cache_config.block_size
            self._link = LinkClock(self.copying.times(getattr(cost_model, "num_gpus", 1)))

    def copy_with(self, copy: Copier) -> None:
        self._worker.copy = copy

    @property
    def _connector(self) -> OffloadingConnector:
        connector = self.scheduler.connector
        assert connector is not None
        return connector

    @property
    def blocked(self) -> bool:
        return bool(self.scheduler.requests) and not self._spins

    # -- a step ----------------------------------------------------------------------------------

    def schedule(self, clock: float) -> Step | None:
        was_ahead = self._ahead is not None
        step = super().schedule(clock)
        if step is None or step.usage is None:
            return step
        output, parts = self._now
        metadata = output.kv_connector_metadata
        assert metadata is not None
        self._num_steps, self._clock = self._num_steps + 1, clock
        self.use.flushed += len(metadata.jobs_to_flush)
        begins = self._worker.start(metadata, self._now_of(clock))
        for job in metadata.load_jobs.values():
            self._waiting_since[self._row(job)] = clock
        begins = clock if self._link is None else begins
        self.use.waited_seconds += begins - clock
        if parts:
            return step._replace(begins=begins)
        self.use.empty_steps += 1
        is_over = was_ahead or self._link is None
        return step._replace(batch=0, begins=begins, until=clock if is_over else self._until())

    def _until(self) -> float:
        """When a step that computes nothing ends: as soon as a copy has ended.

        A request that is loaded again and again would make it end at once, so then another copy
        counts.
        """
        if self._loads_again:
            later = (ends for _, _, ends in self._begun.values() if ends > self._clock)
            return min(later, default=self._clock)
        ends = self._worker.next_end()
        return self._clock if ends is None else ends

    def reach(self, clock: float) -> None:
        if not self._now[1]:
            self.use.empty_seconds += clock - self._clock
        self._clock = clock

    def _decide(self) -> tuple[SchedulerOutput, list[Part]] | None:
        """As without a tier, but a step in which nothing is computed may still copy."""
        scheduler = self.scheduler
        if not scheduler.has_requests():
            return None
        must_tell = bool(scheduler.finished_req_ids)
        output = scheduler.schedule()
        assert output.kv_connector_metadata is not None
        for job in output.kv_connector_metadata.load_jobs.values():
            self._coming[self._row(job)] = self._num_tokens(job)
        decided = self._decided(output)
        if decided is not None:
            return decided
        if must_tell or self._connector.has_pending_push_work():
            self._look_whether_it_loads_again(output)
            return output, []
        scheduler.update_from_output(output, {})
        return None

    def _update(self, output: SchedulerOutput, sampled: dict[Name, list[int]]) -> None:
        ended = self._worker.finish(self._now_of(self._clock))
        report = ModelRunnerOutput(sampled, *reported(ended))
        self.scheduler.update_from_output(output, report)
        if self._now[1]:
            self._loaded.clear()
            self._reloaded.clear()
        for job in ended:
            self._write_down(job)
        self.use.num_kept = len(self._connector.manager.policy.chunks) * self._blocks_per_chunk

    def _write_down(self, job: TransferJob) -> None:
        row, count = self._row(job), len(self._of_gpu(job))
        step, begins, ends = self._begun.pop(job.job_id)
        ends = self._clock if self._link is None else ends
        self.use.copies.append(Copy(row, job.is_store, count, step, begins, ends))
        if not job.is_store:
            tokens, waited = self.use.loads.get(row, (0, 0.0))
            waited += self._clock - self._waiting_since.pop(row)
            self.use.loads[row] = tokens + self._num_tokens(job), waited

    # -- copies ----------------------------------------------------------------------------------

    @property
    def _blocks_per_chunk(self) -> int:
        return self._connector.blocks_per_chunk

    def _now_of(self, clock: float) -> float:
        """The time by which copies are measured."""
        return float(self._num_steps) if self._link is None else clock

    def _ends_at(self, job: TransferJob, begins: float) -> float:
        """When a copy ends that begins now; in steps all copies run at the same time."""
        if self._link is None:
            assert isinstance(self.copying, int)
            self._begun[job.job_id] = self._num_steps, self._clock, self._clock
            return float(self._num_steps + self.copying)
        assert self.use.block_bytes is not None
        num_bytes = len(self._of_gpu(job)) * self.use.block_bytes
        begins = max(begins, self._link.free_at(out=job.is_store))
        ends = self._link.submit(begins, num_bytes, out=job.is_store)
        self._begun[job.job_id] = self._num_steps, begins, ends
        return ends

    @staticmethod
    def _of_gpu(job: TransferJob) -> list[int]:
        return (job.src_spec if job.is_store else job.dst_spec).block_ids

    def _num_tokens(self, job: TransferJob) -> int:
        return len(self._of_gpu(job)) * self.scheduler.cache_config.block_size

    @staticmethod
    def _row(job: TransferJob) -> int:
        return int(job.req_id)

    # -- what is told of requests ----------------------------------------------------------------

    def _note_found(self, found: Iterable[tuple[Name, int]]) -> None:
        """What was loaded is not found on the GPU."""
        super()._note_found(
            [(row, max(tokens - self._coming.pop(int(row), 0), 0)) for row, tokens in found]
        )

    def _usage(self) -> Slots:
        """As without a tier; slots that are being loaded are reserved, their tokens still come."""
        token, reserved, empty, external = super()._usage()
        holding = self.scheduler.kv_holding_waiting
        loading = {request.request_id for request in holding if request.status is LOADING}
        jobs = self._connector.jobs.values() if loading else ()
        coming = sum([self._num_tokens(j) for j in jobs if not j.is_store and j.req_id in loading])
        return token - coming, reserved + coming, empty, external

    def _more_state(self) -> tuple[Hashable, ...]:
        """The tier decides as well what comes next."""
        known = self._connector.manager.policy.state()
        lists = [tuple(keys) if isinstance(keys, list) else keys for keys in known.values()]
        return tuple(lists), len(self._connector.jobs)

    def _look_whether_it_loads_again(self, output: SchedulerOutput) -> None:
        """Notice requests that are loaded over and over, though nothing was computed since.

        Nothing ever changes if no other copies are under way.
        """
        metadata = output.kv_connector_metadata
        assert metadata is not None
        rows = {self._row(job) for job in metadata.load_jobs.values()}
        self._loads_again = bool(rows) and rows <= self._loaded
        self._reloaded |= rows & self._loaded
        self._loaded |= rows
        jobs = self._connector.jobs.values()
        others = any(job.is_store or self._row(job) not in self._reloaded for job in jobs)
        self._spins |= self._loads_again and not others

    def _find_starving(self) -> dict[int, str]:
        found = super()._find_starving()
        if not found and self.scheduler.requests:
            row = int(next(iter(self.scheduler.requests)))
            words = "waits for blocks that others hold while they wait as well"
            if self._spins:
                words = (
                    "is loaded from the CPU again and again: after each load its only token "
                    "counts as not computed"
                )
            found = {row: f"it {words}"}
        return found
