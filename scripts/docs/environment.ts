import { code, table } from './markdown.ts'

const variables: readonly (readonly [string, string])[] = [
  ['REGENT_API', 'base URL of the manager that commands ask'],
  ['REGENT_TOKEN_FILE', 'file with the token of its API'],
  ['KUBECONFIG', 'kubeconfig files, with colons between them; default `~/.kube/config`'],
  ['REGENT_HOME', 'folder of the local clusters; default `$XDG_STATE_HOME/regent`, else `~/.local/state/regent`'],
  [
    'REGENT_MYSQLD',
    'absolute path of the mysqld that local clusters run; default one on `PATH`, else Debian’s packages in the cache',
  ],
  ['REGENT_CACHE', 'folder for unpacked packages; default `$XDG_CACHE_HOME/regent`, else `~/.cache/regent`'],
  ['REGENT_HAPROXY', 'absolute path of the haproxy that routers of local clusters run; default as for MySQL'],
  ['REGENT_REDIS_SERVER', 'absolute path of the redis-server that the store’s tests start; default as for MySQL'],
  [
    'REGENT_REDIS_PASSWORD',
    'password of the Redis that `--store` names, where its URL has none: a command line can be read by every user of the machine',
  ],
  ['NO_COLOR', 'any value: no colours'],
]

/** Environment variables and what they do. */
export function environmentTable(): string {
  return table(
    ['variable', 'meaning'],
    variables.map(([name, meaning]) => [code(name), meaning]),
  )
}
