-- phase: expand
-- readable-from: 0.1.0
-- Half of each page stays free for new versions of its rows, which are updated by every decision: such an update writes neither to the
-- index nor to another page. Applies to pages that are filled from now on; a row of a full page moves to one with room when it is next
-- updated. May be run twice without harm.
ALTER TABLE counters SET (fillfactor = 50);
ALTER TABLE ledger_orgs SET (fillfactor = 50);
