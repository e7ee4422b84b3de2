/** What a guard hears before the end of its command's input, where that end is a true one. */
export const whole = 'whole\n'

/**
 * A process that is killed closes its pipes, and a command that reads from one of them sees the end of its input: what
 * is half-loaded would look complete. So a second process, the guard, holds the pipe open too. The guard waits for a
 * word on descriptor 3. Without the word the guard kills the process group, which is its own too, before the pipe is
 * closed by the guard's end. The shell starts the guard, then becomes the command.
 */
const script = [
  `(read -r word <&3; [ "$word" = ${whole.trim()} ] || kill -9 0) </dev/null >/dev/null 2>&1 &`,
  'exec 3<&- 4>&-',
  'exec "$@"',
].join('\n')

/** The command beside its guard. Descriptor 3 is where the guard listens, descriptor 4 the end that the guard holds. */
export function guarded(argv: readonly string[]): readonly string[] {
  return ['/bin/sh', '-c', script, 'sh', ...argv]
}
