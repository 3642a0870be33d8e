// The axis of time: where each step of a run stands, in seconds, in calls of schedule(), or in events.

export const SECONDS = "seconds",
  CALLS = "schedule()",
  EVENTS = "events";

/** The units in which a run can be measured. @param {Run} run */
export const unitsOf = (run) => [
  ...(run.clock.length ? [SECONDS] : []),
  ...(run.schedules.length ? [CALLS] : []),
  EVENTS,
];

/** The steps at which something whole has happened: behind each schedule(), or every step. @param {Run} run */
export function stopsOf(run, unit) {
  if (unit === EVENTS) return [...Array(run.steps + 1).keys()];
  const stops = [0, ...run.schedules.map((event) => event + 1)];
  return stops[stops.length - 1] < run.steps ? [...stops, run.steps] : stops;
}

/** The places of all steps: they never go back. @param {Run} run @returns {Float64Array} */
function placesOf(run, unit, stops) {
  const places = new Float64Array(run.steps + 1);
  if (unit === EVENTS) return places.map((_, step) => step);
  const { clock } = run,
    { alive } = run.lives,
    long = clock.map((end, i) => end - (clock[i - 1] ?? 0)).sort((a, b) => a - b),
    usual = long[long.length >> 1] ?? 0;
  const begin = run.header.first ? Math.max((clock[0] ?? 0) - usual, 0) : 0;
  const at = (k) => (unit === CALLS ? k : (clock[k - 1] ?? (k ? clock[clock.length - 1] : begin)));
  places[0] = at(0);
  for (let k = 1; k < stops.length; k++) {
    const end = at(k);
    let from = stops[k - 1],
      since = at(k - 1);
    if (unit === SECONDS && k <= clock.length && end - since > 2 * usual) {
      // Where no request was there, the time passed in which none came.
      const empty = alive.lastIndexOf(0, stops[k] - 1);
      if (empty >= from) {
        places.fill(since, from, empty + 1);
        from = empty;
        since = end - usual;
      }
    }
    for (let step = from + 1; step <= stops[k]; step++)
      places[step] = since + ((end - since) * (step - from)) / (stops[k] - from);
  }
  return places;
}

/** A place on an axis in words. */
export const inWords = (unit, place) =>
  unit === SECONDS
    ? `${place.toFixed(place < 100 ? 2 : 0)} s`
    : `${unit === CALLS ? "schedule()" : "event"} ${Math.round(place)}`;

export class Axis {
  /** @param {Run} run */
  constructor(run, unit) {
    this.unit = unit;
    this.stops = stopsOf(run, unit);
    this.places = placesOf(run, unit, this.stops);
    this.max = this.places[run.steps] + (unit === EVENTS ? 0.5 : 0); // what the last event leaves is seen too
  }

  /** The stop nearest to a place. */
  near(place) {
    const { stops, places } = this,
      after = stops.findIndex((step) => places[step] >= place);
    if (after < 1) return stops[after < 0 ? stops.length - 1 : 0];
    return place - places[stops[after - 1]] < places[stops[after]] - place ? stops[after - 1] : stops[after];
  }

  /** So many stops further, or back. */
  beside(step, count) {
    const { stops } = this,
      before = stops.findLastIndex((stop) => stop <= step),
      from = count < 0 && stops[before] < step ? before + 1 : before;
    return stops[Math.min(Math.max(from + count, 0), stops.length - 1)];
  }
}

/** Round numbers along an axis, about so many. */
export function ticks(max, count) {
  const raw = max / Math.max(count, 1) || 1,
    ten = 10 ** Math.floor(Math.log10(raw)),
    each = [1, 2, 5, 10].map((times) => times * ten).find((one) => one >= raw) ?? raw;
  return Array.from({ length: Math.floor(max / each + 1e-9) + 1 }, (_, i) => +(i * each).toPrecision(12));
}
