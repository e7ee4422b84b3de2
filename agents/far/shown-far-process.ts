import { say } from '#common/sentence/sentence.ts'
import { ShownProcess } from '../mysqld/shown-process.ts'
import { farCannot } from './cannot.ts'

/** What no agent does for a mysqld that is far: its data and its accounts are its owner's. */
export class ShownFarProcess extends ShownProcess {
  isEmpty(): Promise<boolean> {
    return Promise.resolve(false)
  }

  initialise(): Promise<void> {
    return Promise.reject(farCannot(say`make the data of a new server`))
  }

  accountsAtStart(): void {
    // An owner who keeps the agent out of a far server keeps it out.
  }

  dropAccountsFile(): Promise<void> {
    return Promise.resolve()
  }

  supply(): Promise<void> {
    return Promise.resolve()
  }
}
