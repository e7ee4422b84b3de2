/** Writes one after the other; of what is said while one is written only the newest. `write` must not reject. */
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
