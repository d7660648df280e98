/** Lists of entity tags in `If-Match` and `If-None-Match`. */

/** Returns true if a list contains this tag. The comparison is weak, because a proxy that compresses adds `W/` to the tag. */
export function includesTag(list: string, etag: string): boolean {
  return list.trim() === '*' || list.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}
