/** Does the task unless one is under way. What is asked meanwhile is left out. Never rejects. */
export function oneAtATime<Asked extends readonly unknown[]>(
  task: (...asked: Asked) => Promise<void>,
  failed: (error: unknown) => void,
): (...asked: Asked) => Promise<void> {
  let isUnderWay = false
  return async (...asked) => {
    if (isUnderWay) return
    isUnderWay = true
    try {
      await task(...asked)
    } catch (error) {
      failed(error)
    } finally {
      isUnderWay = false
    }
  }
}
