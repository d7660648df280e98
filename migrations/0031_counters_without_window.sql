-- phase: expand
-- readable-from: 0.1.0
-- A counter without a window (of a chain, a pack, a prepaid balance) says when it was last used, so that one that nobody uses
-- any more can be forgotten: it is summed again from the books when it is needed. May be run twice without harm.

UPDATE counters SET window_end = now() WHERE window_end = '2200-01-01T00:00:00Z';
