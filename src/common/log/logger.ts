import { createRequire } from 'node:module'
import { pino, type DestinationStream, type Logger } from 'pino'
import { RegentError } from '../errors/errors.ts'
import { say } from '../sentence/sentence.ts'
import { logLevels } from './log-levels.ts'
import { rotatingFile, type RotatingFileOptions } from './rotating-file.ts'

export type { Logger } from 'pino'

export interface LoggerOptions {
  /** A level of `logLevels`. */
  readonly level: string
  /** Which process speaks: `manager`, `agent shop-0`. */
  readonly name: string
  /** Where lines go; standard output unless given. */
  readonly destination?: DestinationStream
  /** Lines for people on standard output; unless given, where that is a terminal. */
  readonly pretty?: boolean | undefined
  /** A file that gets every line too, as JSON. */
  readonly file?: Omit<RotatingFileOptions, 'failed'>
}

/**
 * A logger that writes JSON lines to standard output, or lines for people where that is a terminal. Whatever is named a
 * password, token or secret is left out. Throws `REGENT_BAD_REQUEST` for an unknown level, `REGENT_BAD_FILE` for a file
 * that cannot be written.
 */
export function createLogger(options: LoggerOptions): Logger {
  if (!(logLevels as readonly string[]).includes(options.level)) {
    throw new RegentError(
      'REGENT_BAD_REQUEST',
      say`log level "${options.level}" is unknown; allowed are ${logLevels.join(', ')}`,
    )
  }
  return pino(
    {
      level: options.level,
      name: options.name,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: describeFully, error: describeFully },
      formatters: {
        level: (label) => ({ level: label }),
        log: (fields) => withoutSecrets(fields, 0) as Record<string, unknown>,
      },
      redact: { paths: ['password', 'token', 'secret', 'authorization'], censor: redacted },
    },
    withFile(options.destination ?? standardOutput(options.pretty), options.file),
  )
}

/** Written at once: the last lines before a SIGKILL are those that are needed. */
function standardOutput(pretty: boolean = process.stdout.isTTY): DestinationStream {
  if (pretty) return prettyOutput()
  return pino.destination({ dest: 1, sync: true })
}

function withFile(destination: DestinationStream, options: LoggerOptions['file']): DestinationStream {
  if (options === undefined) return destination
  const file = rotatingFile({ ...options, failed: (why) => void process.stderr.write(`${why}\n`) })
  return {
    write(line) {
      destination.write(line)
      file.write(line)
    },
  }
}

/** Loaded only where people read: it would be a tenth of an agent's memory. */
function prettyOutput(): DestinationStream {
  const { PinoPretty } = createRequire(import.meta.url)('pino-pretty') as typeof import('pino-pretty')
  return PinoPretty({ ignore: 'pid,hostname', translateTime: 'HH:MM:ss.l', sync: true })
}

const redacted = '[redacted]'
const secretName = /(password|token|secret|authorization)$/i
const deepest = 6

function withoutSecrets(value: unknown, depth: number): unknown {
  if (Array.isArray(value)) return depth > deepest ? '[too deep]' : value.map((item) => withoutSecrets(item, depth + 1))
  if (!isPlainObject(value)) return value
  if (depth > deepest) return '[too deep]'
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      typeof item === 'string' && secretName.test(key) ? redacted : withoutSecrets(item, depth + 1),
    ]),
  )
}

/** Errors, dates and objects of classes have serializers of their own. */
function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/**
 * Name, code, message, stack and causes of an error, and no other field: a database driver's error carries the
 * statement, passwords and all.
 */
function describeFully(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { name, message, stack, cause } = error
  const code = 'code' in error ? { code: error.code } : {}
  return { name, ...code, message, stack, ...(cause === undefined ? {} : { cause: describeFully(cause) }) }
}
