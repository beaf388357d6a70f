// What samplers count. See refimpl/_support/counters.py.

export const NO_COUNTERS = Object.freeze({
  type: "Counters",
  pops: 0, // frontier nodes replaced
  probes: 0, // random entries looked at
  rounds: 0, // groups of `lanes` probes
  cleanups: 0,
  moved: 0, // entries rewritten by clean-ups
  truncated: 0, // nodes that got fewer entries than their weight
  popped_degree_sum: 0,
  added_degree_sum: 0,
  capacity: 0, // entries of the dashboard
  draws: 0, // of the stream `main`
});
