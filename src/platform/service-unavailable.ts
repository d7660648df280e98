/** Errors that mean "not now": the request may succeed later. HTTP answers all of them with `service_unavailable`. */
export class ServiceUnavailable extends Error {
  override readonly name: string = 'ServiceUnavailable';
}

/** A bounded queue or table is full, or a caller waited in it for too long. Nothing of the request has taken effect. */
export class OverCapacity extends ServiceUnavailable {
  override readonly name: string = 'OverCapacity';
}
