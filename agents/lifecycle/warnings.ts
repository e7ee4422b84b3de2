import { unsupportedIn } from './actions/template.ts'
import type { LifecycleConfiguration } from './configuration/configuration.ts'
import type { Action } from './wire/definitions.ts'

/** What of a configuration will not work, or only in part, said before anybody calls. */
export function warnings({ actions }: LifecycleConfiguration, pid: number): readonly string[] {
  if (actions === null) return ['KB_AGENT_ACTION is not set: every call is answered with 404']
  return [
    ...(pid === 1 && actions.size > 0
      ? [
          'this process is PID 1 without /bin/sh, and reaps no process that others left: set shareProcessNamespace, or start it by an init',
        ]
      : []),
    ...[...actions.values()].flatMap(complaintsAbout),
  ]
}

function complaintsAbout(action: Action): readonly string[] {
  const { name, exec, http, grpc } = action
  if (exec === undefined && http === undefined && grpc === undefined)
    return [`action ${name}: it has no exec, no http and no grpc`]
  return templatesOf(action).flatMap(([what, template]) => {
    const wrong = unsupportedIn(template)
    return wrong === undefined ? [] : [`action ${name}: ${what}: ${wrong}`]
  })
}

/** Templates of an action, by what they are of. */
function templatesOf({ http, grpc }: Action): readonly (readonly [string, string])[] {
  return [
    ['http.body', http?.body ?? ''],
    ...(http?.headers ?? []).map(({ name, value }): [string, string] => [`header ${name}`, value]),
    ...Object.entries(grpc?.request ?? {}).map(([name, text]): [string, string] => [`grpc.request.${name}`, text]),
  ]
}

/** What is said where `Pipes` cannot be made. */
export const withoutPipes =
  'no pipe can be made, for want of the program mkfifo or of a folder to write to: commands get ' +
  'sockets, and a script that opens /dev/stdout or /dev/stderr by name fails'
