/**
 * A bounded pool that tenants share, such as the places of a queue or the bytes of a buffer. Any tenant may use the first nine
 * tenths. The last tenth is reserved for tenants that use less than their share, so that one tenant cannot fill the pool and shut
 * out the others. The share is a tenth of the reserve. If more than ten tenants use the pool, it is smaller, so that all shares fit
 * into the reserve.
 */

export interface FairShareOptions {
  readonly capacity: number;
  /** Maximum for one tenant, even if the pool is empty otherwise. Default: none. */
  readonly perTenantMax?: number;
  /** Maximum share of a tenant in the reserve. Set if a tenth of the reserve is too small for one unit of work. */
  readonly shareMax?: number;
}

const reservedPart = 0.1;
const tenantsInReserve = 10;

export class FairShare {
  readonly capacity: number;
  /** The part that any tenant may use. */
  readonly #common: number;
  readonly #reserve: number;
  readonly #perTenantMax: number;
  readonly #shareMax: number;
  readonly #usedBy = new Map<string, number>();
  #used = 0;

  constructor({ capacity, perTenantMax = capacity, shareMax }: FairShareOptions) {
    this.capacity = capacity;
    this.#reserve = Math.floor(capacity * reservedPart);
    this.#common = capacity - this.#reserve;
    this.#perTenantMax = perTenantMax;
    this.#shareMax = shareMax ?? this.#reserve / tenantsInReserve;
  }

  get used(): number {
    return this.#used;
  }

  usedBy(tenant: string): number {
    return this.#usedBy.get(tenant) ?? 0;
  }

  /** Takes the amount and returns true if the tenant may have it. Returns false otherwise. */
  tryTake(tenant: string, amount = 1): boolean {
    const hasRoom = this.hasRoom(tenant, amount);
    if (hasRoom) {
      this.take(tenant, amount);
    }
    return hasRoom;
  }

  hasRoom(tenant: string, amount = 1): boolean {
    const own = this.usedBy(tenant);
    const used = this.#used + amount;
    if (own + amount > this.#perTenantMax || used > this.capacity) {
      return false;
    }
    return used <= this.#common || own + amount <= this.#share(own === 0);
  }

  /** Takes the amount unconditionally, for things that exist already and must be counted. */
  take(tenant: string, amount = 1): void {
    this.#used += amount;
    this.#usedBy.set(tenant, this.usedBy(tenant) + amount);
  }

  release(tenant: string, amount = 1): void {
    const left = this.usedBy(tenant) - amount;
    if (left < 0) {
      throw new Error('more was released than taken');
    }
    this.#used -= amount;
    if (left === 0) {
      this.#usedBy.delete(tenant);
    } else {
      this.#usedBy.set(tenant, left);
    }
  }

  /** Releases everything, for buffers that are emptied as a whole. */
  clear(): void {
    this.#used = 0;
    this.#usedBy.clear();
  }

  #share(isNewTenant: boolean): number {
    const tenants = this.#usedBy.size + (isNewTenant ? 1 : 0);
    return Math.max(1, Math.floor(Math.min(this.#shareMax, this.#reserve / tenants)));
  }
}
