/** Change notifications. Every process receives them once the transaction that sends them has committed. */
import type { Database, NotificationListener, Transaction } from './database.ts';

export interface ChangeChannel {
  /** `changed` is the id of the org that changed, unless the channel documents otherwise. */
  notify(tx: Transaction, changed: string): Promise<void>;
  /** Calls the listener with each `changed`. Null means that anything may have changed. */
  on(db: Database, listener: NotificationListener): void;
}

export function changeChannel(name: string): ChangeChannel {
  return {
    notify: (tx, changed) => tx.notify(name, changed),
    on: (db, listener) => db.listen(name, listener),
  };
}
