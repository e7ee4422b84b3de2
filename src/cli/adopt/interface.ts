import { adoptedFolder, prepareFolder } from '#adopt/adopted-folder.ts'
import { keepOrchestratorServed, readOrchestratorServed, type OrchestratorServed } from '#adopt/orchestrator-file.ts'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import type { Io } from '../terminal/io.ts'
import type { OutputOptions } from '../terminal/common-options.ts'
import type { AdoptOptions } from './adopt-options.ts'

/**
 * How orchestrator’s interface is to be served from now on, where options or orchestrator’s own file say something of
 * that. Throws `REGENT_BAD_REQUEST` where nobody said at which address.
 */
export async function interfaceSaid(
  options: AdoptOptions,
  origin?: OrchestratorServed,
): Promise<OrchestratorServed | undefined> {
  if (!saysSomething(options) && origin === undefined) return undefined
  return servedBy(options, origin ?? (await readOrchestratorServed(adoptedFolder())))
}

/** Keeps that, and tells of it. */
export async function keepInterface(
  io: Io,
  served: OrchestratorServed | undefined,
  { output }: OutputOptions,
): Promise<void> {
  if (served === undefined) return
  const folder = adoptedFolder()
  await prepareFolder(folder)
  await keepOrchestratorServed(folder, served)
  const sentence = `orchestrator’s interface is served on ${served.host}:${served.port}`
  if (output === 'json') io.note(sentence)
  else io.out(sentence)
}

function saysSomething(options: AdoptOptions): boolean {
  const { orchestratorListen, orchestratorHosts, orchestratorLoginFile, orchestratorReadOnly } = options
  const said = [orchestratorListen, orchestratorHosts, orchestratorLoginFile, orchestratorReadOnly]
  if (options.orchestratorAlso !== undefined) return true
  return said.some((one) => one !== undefined)
}

/** What is not said stays as it was. */
function servedBy(options: AdoptOptions, before: OrchestratorServed | undefined): OrchestratorServed {
  const listen = options.orchestratorListen ?? before
  if (listen === undefined)
    throw new RegentError(
      'REGENT_BAD_REQUEST',
      say`say where orchestrator’s interface is served: --orchestrator-listen`,
    )
  const { hostNames = 'address', readOnly = false } = before ?? {}
  return {
    ...{ version: 1, host: listen.host, port: listen.port },
    hostNames: options.orchestratorHosts ?? hostNames,
    readOnly: options.orchestratorReadOnly ?? readOnly,
    ...restOf(options, before),
  }
}

function restOf(options: AdoptOptions, before: OrchestratorServed | undefined): Partial<OrchestratorServed> {
  const loginFile = options.orchestratorLoginFile ?? before?.loginFile
  const also = options.orchestratorAlso ?? before?.also
  return { ...(loginFile !== undefined && { loginFile }), ...(also !== undefined && { also: [...also] }) }
}
