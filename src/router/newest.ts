/**
 * Gives a writer that writes one value after the other. Values given during a write are left out, but for the newest.
 * `write` must not reject.
 */
export function newest<Value>(write: (value: Value) => Promise<void>): (value: Value) => void {
  let next: { readonly value: Value } | undefined
  let isWriting = false
  const work = async (): Promise<void> => {
    isWriting = true
    for (let one = next; one !== undefined; one = next) {
      next = undefined
      await write(one.value)
    }
    isWriting = false
  }
  return (value) => {
    next = { value }
    if (!isWriting) void work()
  }
}
