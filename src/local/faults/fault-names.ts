/** What can be done to an instance, with the words that `--help` explains it by. */
export const faults = {
  'kill-mysqld': 'SIGKILL mysqld; what happens then is up to its agent',
  'freeze-mysqld': 'SIGSTOP mysqld',
  'thaw-mysqld': 'SIGCONT mysqld',
  'kill-agent': 'SIGKILL the agent and leave it stopped; mysqld goes on',
  'freeze-agent': 'SIGSTOP the agent',
  'thaw-agent': 'SIGCONT the agent',
  kill: 'SIGKILL agent and mysqld and leave them stopped, as if the machine were gone',
  start: 'start what kill or kill-agent stopped',
} as const

export type Fault = keyof typeof faults

export function isFault(word: string): word is Fault {
  return Object.hasOwn(faults, word)
}
