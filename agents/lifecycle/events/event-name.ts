/** The 32-bit FNV-1a hash of a text in UTF-8, as lower-case hexadecimal without leading zeroes. */
export function fnv1a32(text: string): string {
  let hash = 0x811c9dc5
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193)
  return (hash >>> 0).toString(16)
}

/** The name of an Event of a pod: the same for the same content, so that a repetition is counted, not stored again. */
export function eventName(pod: { readonly name: string; readonly uid: string }, reason: string, text: string): string {
  return `${pod.name}.${fnv1a32(`${pod.uid}.${reason}.${text}`)}`
}
