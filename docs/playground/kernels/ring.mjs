// Which slots the next embeddings go to: the ring of FreshGNN's cache. See refimpl/history/ring.py.

import { choice } from "./check.mjs";

// A header that goes round some slots and says which is next. `used` slots from 0 on were written
// to, `top` of them in this cycle.
export class Ring {
  constructor(slots, header, overflow, t_stale, start_iter) {
    this.slots = slots;
    this.header = choice("header", header, ["continue", "cycle"]);
    this.overflow = choice("overflow", overflow, ["wrap", "drop"]);
    this.length = t_stale === null ? null : Math.max(t_stale, 1);
    this.start_iter = start_iter;
    this.head = this.used = this.top = 0;
    this.cycle = -1;
  }

  // Whether iteration i begins a cycle that had not begun yet; begin it.
  begins_cycle(i) {
    const cycle = Math.floor((i - this.start_iter) / this.length);
    if (this.length === null || cycle === this.cycle) return false;
    this.cycle = cycle;
    if (this.header === "cycle") this.head = 0;
    return true;
  }

  // Give up the slots that the last cycle did not write to; begin again at slot 0.
  shrink() {
    this.used = this.top;
    this.head = this.top = 0;
  }

  // How many slots are left, at most `count`, without a loss.
  room(count, is_free) {
    if (this.header === "cycle") return Math.min(this.slots - this.head, count);
    const fresh = Math.min(this.slots - this.used, count);
    return fresh + this.from_header(count - fresh, is_free).length;
  }

  // The next `count` slots; the header moves behind the last. With header "cycle" it passes the
  // slots of `passed` embeddings first, as if they had been written.
  advance(count, is_free, passed = 0) {
    const slots =
      this.header === "cycle" ? this.round(count, passed) : this.free_first(count, is_free);
    if (count) {
      this.head = slots[count - 1] + 1;
      this.top = Math.max(this.top, Math.max(...slots) + 1);
      this.used = Math.max(this.used, this.top);
    }
    return slots;
  }

  round(count, passed) {
    return Array.from(
      { length: count },
      (_, k) => (this.head + passed + k) % Math.max(this.slots, 1),
    );
  }

  // Slots that are free, then new ones, which cost features, then any.
  free_first(count, is_free) {
    const used = this.from_header(count, is_free);
    const fresh = [];
    for (let s = this.used; s < Math.min(this.slots, this.used + count - used.length); s++)
      fresh.push(s);
    const others = this.from_header(count - used.length - fresh.length, (s) => !is_free(s));
    return [...used, ...fresh, ...others];
  }

  // The first `count` used slots that are wanted, in the order of the header.
  from_header(count, wanted) {
    const found = [];
    for (let k = 0; k < this.used && found.length < count; k++) {
      const s = (this.head + k) % this.used;
      if (wanted(s)) found.push(s);
    }
    return found;
  }
}
