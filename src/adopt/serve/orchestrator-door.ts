import { openOrchestrator } from '#orchestrator/open-orchestrator.ts'
import { readOrchestratorServed } from '../orchestrator-file.ts'
import type { AdoptedFolder } from '../adopted-folder.ts'

type Parts = Parameters<typeof openOrchestrator>[1]

/** Serves orchestrator’s interface as its file says: opened, closed, and opened otherwise while the manager runs. */
export class OrchestratorDoor {
  readonly #folder: AdoptedFolder
  readonly #parts: Parts
  #open: { readonly how: string; readonly app: Awaited<ReturnType<typeof openOrchestrator>> } | undefined

  constructor(folder: AdoptedFolder, parts: Parts) {
    this.#folder = folder
    this.#parts = parts
  }

  get isOpen(): boolean {
    return this.#open !== undefined
  }

  async follow(): Promise<void> {
    const served = await readOrchestratorServed(this.#folder)
    const how = JSON.stringify(served)
    if (how === this.#open?.how) return
    await this.close()
    if (served === undefined) return
    const { loginFile, also = [], host, port, hostNames, readOnly } = served
    const address = { host, port, hostNames, readOnly, also, ...(loginFile !== undefined && { loginFile }) }
    this.#open = { how, app: await openOrchestrator(address, this.#parts) }
  }

  async close(): Promise<void> {
    const open = this.#open
    this.#open = undefined
    await open?.app.close()
  }
}
