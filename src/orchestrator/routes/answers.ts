/** What a call is answered with: the body, and the status where it is not that of the body. */
export interface Answer {
  readonly status: number
  readonly body: unknown
}

/** The envelope that scripts look into. */
export interface Envelope {
  readonly Code: 'OK' | 'ERROR'
  readonly Message: string
  readonly Details: unknown
}

export function ok(message: string, details: unknown = null): Answer {
  return { status: 200, body: { Code: 'OK', Message: message, Details: details } satisfies Envelope }
}

/** Details that are not null are printed by clients like a result. */
export function refused(message: string, details: unknown = null, status = 500): Answer {
  return { status, body: { Code: 'ERROR', Message: printable(message), Details: details } satisfies Envelope }
}

/** Without an envelope: where orchestrator answers so. */
export function plain(body: unknown, status = 200): Answer {
  return { status, body }
}

/** What a person said, as it is kept. */
export function oneLine(text: string, most: number): string {
  return text.replaceAll(/[\u0000-\u001f\u007f]/g, ' ').slice(0, most)
}

/** Clients hand messages to `xargs`, which stumbles over a double quote or a backslash. */
function printable(message: string): string {
  return message.replaceAll('"', '`').replaceAll('\\', '/').replaceAll(/\s+/g, ' ')
}
