import type { ExecAction } from '../wire/definitions.ts'

/** Program and arguments of an action, with those that come with a call. */
export function argvOf({ command = [], args = [] }: ExecAction, more: readonly string[] = []): readonly string[] {
  return [...command, ...args, ...more]
}
