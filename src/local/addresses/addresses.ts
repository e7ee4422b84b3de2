import type { ChildProcess } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createServer, type Server } from 'node:net'
import { RegentError } from '#common/errors/errors.ts'
import { say } from '#common/sentence/sentence.ts'
import {
  agentAddressOf,
  instancePorts,
  routerAddress,
  type LocalCluster,
  type LocalInstance,
} from '../folder/cluster-file.ts'

/** Nothing else listens here: whoever does owns the cluster number on this machine. */
const claimPort = 9399
const largestNumber = 199

/** Ownership of a cluster number on this machine, held by the kernel for as long as the process lives. */
export interface NumberClaim {
  readonly number: number
  /** Holds the claim, in every process that has it. */
  readonly socket: Server
  release(): Promise<void>
}

/**
 * Claims a cluster number, so that no other cluster of this machine, whoever runs it, takes the same addresses.
 * Undefined when it is taken.
 */
export async function claimNumber(number: number): Promise<NumberClaim | undefined> {
  const socket = await listen(`127.24.${number}.250`, claimPort)
  return socket && claimOf(number, socket)
}

/** Gives a claim to a child process that calls `inheritClaim`; nobody else can take the number in between. */
export async function handClaimTo(child: ChildProcess, claim: NumberClaim): Promise<void> {
  // A message that comes before the child listens is lost, and the number with it: the child asks first.
  const isAsked = await new Promise<boolean>((resolve) => {
    child.once('message', () => resolve(true))
    for (const event of ['disconnect', 'error']) child.once(event, () => resolve(false))
  })
  if (isAsked) await new Promise<void>((resolve) => child.send({ number: claim.number }, claim.socket, () => resolve()))
  await claim.release()
  if (child.connected) child.disconnect()
}

/** The claim that the parent process hands over; undefined where it has none to hand. */
export async function inheritClaim(): Promise<NumberClaim | undefined> {
  if (!process.connected) return undefined
  return new Promise((resolve) => {
    process.once('message', ({ number }: { readonly number: number }, socket) =>
      resolve(claimOf(number, socket as Server)),
    )
    process.once('disconnect', () => resolve(undefined))
    process.send?.('listening')
  })
}

function claimOf(number: number, socket: Server): NumberClaim {
  return { number, socket, release: () => close(socket) }
}

/**
 * The number at which the clusters of a home begin. What is down has no claim: homes that begin at different numbers
 * take no addresses that a cluster of another home comes back to.
 * @param own the home, where it is not the usual one of this user
 */
export function firstNumber(own: string | undefined): number {
  return own === undefined ? 1 : (createHash('sha256').update(own).digest().readUInt16BE(0) % largestNumber) + 1
}

/**
 * The first number from `first` on, of those from 1 to 199, that is not in `taken` and whose instances' addresses are
 * free, claimed. Throws `REGENT_ADDRESS_IN_USE` when there is none.
 */
export async function claimFreeNumber(taken: ReadonlySet<number>, instances: number, first = 1): Promise<NumberClaim> {
  for (let tried = 0; tried < largestNumber; tried++) {
    const number = ((first - 1 + tried) % largestNumber) + 1
    if (taken.has(number)) continue
    const claim = await claimNumber(number)
    if (claim === undefined) continue
    if (await allFree(number, instances)) return claim
    await claim.release()
  }
  throw new RegentError(
    'REGENT_ADDRESS_IN_USE',
    say`no cluster number from 1 to ${largestNumber} has its addresses 127.24.<number>.1 to .${instances} free; name others with --hosts`,
  )
}

async function allFree(number: number, instances: number): Promise<boolean> {
  for (let ordinal = 0; ordinal < instances; ordinal++) {
    if ((await takenPort(`127.24.${number}.${ordinal + 1}`)) !== undefined) return false
  }
  return true
}

/** A cluster that is made may have other addresses; one that comes back keeps its own. */
type Opening = 'new' | 'again'

/**
 * Throws `REGENT_ADDRESS_IN_USE` when a port of one of these instances is taken or its address is not this machine's.
 */
export async function requireFreeInstances(
  instances: readonly LocalInstance[],
  opening: Opening = 'new',
): Promise<void> {
  const remedy = opening === 'new' ? say`choose other addresses with --hosts` : say`end what listens there`
  for (const instance of instances) {
    // An address that exists only inside the wrapper's network namespace cannot be tried from here.
    if (instance.wrapper.length > 0) continue
    const port = await takenPort(agentAddressOf(instance))
    if (port !== undefined) {
      throw new RegentError(
        'REGENT_ADDRESS_IN_USE',
        say`${agentAddressOf(instance)}:${port}, wanted for instance ${instance.name}, is taken or no address of this machine; ${remedy}`,
        { remedy: '' },
      )
    }
  }
}

/** Throws `REGENT_ADDRESS_IN_USE` when a port of the cluster's router, where it has one, is taken. */
export async function requireFreeRouter(cluster: LocalCluster, opening: Opening = 'new'): Promise<void> {
  if (cluster.router === undefined) return
  const option = opening === 'new' ? say`leave --router out` : say`say --no-router`
  const { host, writePort, readPort } = routerAddress(cluster)
  for (const port of [writePort, readPort]) {
    if (await isFree(host, port)) continue
    throw new RegentError(
      'REGENT_ADDRESS_IN_USE',
      say`${host}:${port}, wanted for the router of ${cluster.name}, is taken; end what listens there, or ${option}`,
      { remedy: '' },
    )
  }
}

/** Ports of a manager's API that are tried where nobody names one. */
const portsTried = 100

/**
 * The first port from `usual` on that is free on this machine and not in `taken`. Throws `REGENT_ADDRESS_IN_USE` where
 * there is none.
 */
export async function freeApiPort(host: string, usual: number, taken: ReadonlySet<number>): Promise<number> {
  for (let port = usual; port < usual + portsTried; port += 1)
    if (!taken.has(port) && (await isFree(host, port))) return port
  throw new RegentError(
    'REGENT_ADDRESS_IN_USE',
    say`${host}: ports ${usual} to ${usual + portsTried - 1} are taken; choose another port with --port`,
  )
}

/** Throws `REGENT_ADDRESS_IN_USE` when the API's port is taken. */
export async function requireFreeApi(host: string, port: number, option = '--port'): Promise<void> {
  if (await isFree(host, port)) return
  const what = option === '--port' ? say`the API` : say`orchestrator’s interface`
  const otherPort = port === 65_535 ? port - 1 : port + 1
  throw new RegentError(
    'REGENT_ADDRESS_IN_USE',
    say`${host}:${port}, wanted for ${what}, is taken; choose another port with ${option}, for example ${option} ${otherPort}`,
  )
}

async function takenPort(address: string): Promise<number | undefined> {
  for (const port of Object.values(instancePorts)) if (!(await isFree(address, port))) return port
  return undefined
}

/** Whether somebody could listen there now. */
async function isFree(host: string, port: number): Promise<boolean> {
  const server = await listen(host, port)
  if (server === undefined) return false
  await close(server)
  return true
}

/** Undefined when the address is taken, not allowed, or none of this machine's. */
function listen(host: string, port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy())
    server.once('error', () => resolve(undefined))
    server.listen({ host, port, exclusive: true }, () => resolve(server))
  })
}

function close(server: Server): Promise<void> {
  return new Promise((resolve, reject) => server.close((error) => (error ? reject(error) : resolve())))
}
