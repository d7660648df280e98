/** Errors that mean "unavailable": the request may succeed later. HTTP answers all of them with `service_unavailable`. */
export class ServiceUnavailable extends Error {
  override readonly name: string = 'ServiceUnavailable';
}

/** A bounded queue or table is full, or a caller waited in it for too long. The request has had no effect. */
export class OverCapacity extends ServiceUnavailable {
  override readonly name: string = 'OverCapacity';
}
