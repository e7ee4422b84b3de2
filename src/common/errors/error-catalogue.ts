import { anyOnKubernetes, localPlace, type Place } from '../sentence/command.ts'
import { command, printed, say, Sentence } from '../sentence/sentence.ts'

/**
 * Every error Regent reports: its stable code, the HTTP status it is answered with, and what to do about it.
 * `docs/reference/errors.md` is made from this table.
 */
export interface CatalogueEntry {
  readonly status: number
  readonly title: string
  /**
   * Names an object and an action; two of them where the places have different things.
   */
  readonly remedy: Remedy
}

type Remedy = string | Sentence | { readonly local: string; readonly kubernetes: string }

export const catalogue = {
  REGENT_BAD_NAME: {
    status: 400,
    title: 'Not a valid name',
    remedy:
      'Name the instance <cluster>-<ordinal>, for example shop-0, and the cluster in lower-case letters, digits and dashes.',
  },
  REGENT_BAD_GTID_SET: {
    status: 400,
    title: 'Not a GTID set',
    remedy: 'Give the GTID set as MySQL prints gtid_executed.',
  },
  REGENT_BAD_REQUEST: {
    status: 400,
    title: 'The request is not valid',
    remedy: 'Give or correct what the message names, as the message allows.',
  },
  REGENT_BAD_FILE: {
    status: 400,
    title: 'A file is not valid',
    remedy: 'Correct in that file what the message names, as the message allows.',
  },
  REGENT_BAD_ENVIRONMENT: {
    status: 400,
    title: 'A variable of the environment is not valid',
    remedy: {
      local: 'Correct in that variable what the message names to what the message allows, then start the process anew.',
      kubernetes:
        'Correct in that variable what the message names, where the pod gets the variable from (a ' +
        'component definition, a ConfigMap, the pod’s template); then restart the pod.',
    },
  },
  REGENT_SECRET_LOST: {
    status: 500,
    title: 'The secret of all passwords is gone',
    remedy: {
      local: 'Put the file back from a copy. Without one: docs/guide/operations.md, "The secret of all passwords".',
      kubernetes: 'Put the Secret back from a copy, or from a pod that still has its files, as the message says.',
    },
  },
  REGENT_NEWER_VERSION: {
    status: 409,
    title: 'Written by a newer Regent',
    remedy: 'Upgrade this Regent to the version that wrote it, or a newer one.',
  },
  REGENT_UNAUTHORIZED: {
    status: 401,
    title: 'No valid token',
    remedy: {
      local: 'Send "Authorization: Bearer <token>" with the token in the file that regent local status names.',
      kubernetes:
        'Send "Authorization: Bearer <token>" with the token in Secret regent-api of the managers’ namespace.',
    },
  },
  REGENT_NOT_FOUND: { status: 404, title: 'No such thing', remedy: 'Name one of those that the message lists.' },
  REGENT_METHOD_NOT_ALLOWED: {
    status: 405,
    title: 'The route does not take this method',
    remedy: 'Use one of the methods in the Allow header.',
  },
  REGENT_TOO_LARGE: {
    status: 413,
    title: 'The request is too large',
    remedy: 'Send a request below the limit that the message names.',
  },
  REGENT_TOO_MANY_REQUESTS: {
    status: 429,
    title: 'Too many requests',
    remedy: 'Wait as long as the Retry-After header says.',
  },
  REGENT_TASK_FAILED: {
    status: 500,
    title: 'A worker’s task failed',
    remedy:
      'Put right what the message complains of: the source of the data, the network between, or the ' +
      'action dataLoad. The kubelet starts the worker again, which loads from the beginning.',
  },
  REGENT_BUSY: {
    status: 503,
    title: 'The agent takes no more calls now',
    remedy: 'Ask again when a call has ended, or once the agent has started anew, as the message says.',
  },
  REGENT_NOT_LEADER: {
    status: 503,
    title: 'This manager does not lead',
    remedy: 'Ask another manager, or this one again in a second.',
  },
  REGENT_SHUTTING_DOWN: {
    status: 503,
    title: 'The manager is stopping',
    remedy: 'Ask another manager, or this one again once it has started.',
  },
  REGENT_INTERNAL: {
    status: 500,
    title: 'Something unexpected failed',
    remedy: 'Report it to Regent’s developers, with the lines of the manager’s or agent’s log at that moment.',
  },
  REGENT_SYSTEM: {
    status: 500,
    title: 'The operating system refused',
    remedy: 'Look at the permissions, the folder and the free space of the file or address that the message names.',
  },
  REGENT_REFUSED: {
    status: 409,
    title: 'Not possible in the present state',
    remedy: 'Ask again once the reason in the message is gone.',
  },
  REGENT_TIMED_OUT: {
    status: 504,
    title: 'It did not end in time',
    remedy: say`See with ${command('recoveries')} how it ended, before you ask again.`,
  },
  REGENT_STALE_ORDER: {
    status: 409,
    title: 'The order is older than what the agent stored',
    remedy: 'Do nothing: a newer manager or decision is in charge.',
  },
  REGENT_WRONG_MEMBER: {
    status: 409,
    title: 'The order is for another instance or volume',
    remedy: 'Correct the address of that instance: another agent listens there, or its volume was exchanged.',
  },
  REGENT_ORDER_NOT_ALLOWED: {
    status: 409,
    title: 'The order is not allowed in this state',
    remedy: say`Do nothing: the manager reads the state of the agent and decides again. If it lasts, ${command('explain')} says what is in the way.`,
  },
  REGENT_AGENT_UNREACHABLE: {
    status: 502,
    title: 'The agent does not answer',
    remedy: {
      local:
        'Start the agent that the message names (regent local status shows which run), or mend the network between it and the manager.',
      kubernetes:
        'Look at the pod that the message names (kubectl describe pod), and at what keeps the network between it and the manager apart: NetworkPolicies first.',
    },
  },
  REGENT_API_UNREACHABLE: {
    status: 502,
    title: 'The manager cannot be reached',
    remedy: {
      local:
        'Start the manager (regent local up; regent local status shows whether it runs), or correct --api, --token-file or REGENT_API.',
      kubernetes:
        'Look at the managers’ pods (kubectl get pods in their namespace), or correct --context, --namespace or --manager-namespace.',
    },
  },
  REGENT_SERVER_TIMEOUT: {
    status: 504,
    title: 'MySQL did not answer in time',
    remedy:
      'Look at that server’s process list for what holds up the statement that the message names: a lock, or a disk that does not answer.',
  },
  REGENT_SERVER_ERROR: {
    status: 502,
    title: 'MySQL refused a statement',
    remedy: say`Put right on that server what MySQL’s own words in the message complain of; ${command('explain')} says what waits for it.`,
  },
  REGENT_SERVER_DOWN: {
    status: 502,
    title: 'MySQL is not running',
    remedy: say`See with ${command('topology')} why that instance’s mysqld does not run.`,
  },
  REGENT_SSH_DOWN: {
    status: 502,
    title: 'A host cannot be reached by SSH',
    remedy:
      'Try ssh with the user, the key and the known hosts of the hosts file; the message says what sshd answered, or that nobody did.',
  },
  REGENT_REBOOTED: {
    status: 503,
    title: 'The host of a far server was started anew',
    remedy: 'Wait until its agent has begun again: that reads what the host still has.',
  },
  REGENT_HOST_KEY: {
    status: 502,
    title: 'The host key of a far host is not the known one',
    remedy:
      'Compare the fingerprint with ssh-keygen -lf on the host itself, and only then write that key into the known hosts file.',
  },
  REGENT_FAR_CANNOT: {
    status: 409,
    title: 'Not possible on a far server',
    remedy: 'Do it on the host itself, or give the host the SSH access that the message names.',
  },
  REGENT_GROUP_PROTOCOL: {
    status: 502,
    title: 'A member of the group answered what Regent cannot read',
    remedy:
      'Look whether the address that the message names is that of a member of the group, and whether ' +
      'its MySQL has one of the versions that Regent knows; the group removes a dead member by itself, ' +
      'only later.',
  },
  REGENT_STORED_STATE_CORRUPT: {
    status: 500,
    title: 'The agent’s own file is damaged',
    remedy:
      'Give the instance up or restore its volume: both copies of the file fail their checksum. Never delete the file by hand.',
  },
  REGENT_BINLOG_UNREADABLE: {
    status: 500,
    title: 'A binlog cannot be read',
    remedy:
      'Archive the volume, then seed the instance again from a healthy one: nothing of the file that the message names is cut.',
  },
  REGENT_STORE_CONFLICT: {
    status: 409,
    title: 'Somebody else changed the record first',
    remedy: 'Do nothing: the newer record is read and the decision made again.',
  },
  REGENT_STORE_UNAVAILABLE: {
    status: 503,
    title: 'The record cannot be read or written',
    remedy: 'Bring the store back; primaries stay writable meanwhile.',
  },
  REGENT_STORE_DAMAGED: {
    status: 500,
    title: 'What is stored cannot be used',
    remedy:
      'Follow the cure that the message names for that object. Nothing else changes it: a damaged record decides nothing, damaged notes hold nothing up.',
  },
  REGENT_STORE_UNSAFE: {
    status: 500,
    title: 'The store could lose what it confirmed',
    remedy:
      'Configure the store as the message says, or accept the risk with --allow-volatile-store of regent manager.',
  },
  REGENT_BACKUP_UNUSABLE: {
    status: 409,
    title: 'A backup cannot be used',
    remedy:
      'Take another backup of those in the store, and look who changed the object that the message names: nothing of a ' +
      'backup is used that is not exactly as Regent wrote that.',
  },
  REGENT_BACKUP_STORE: {
    status: 503,
    title: 'The store of backups failed',
    remedy:
      'Put right at the store of backups what the message complains of: its address, its credentials, its space, or ' +
      'the network to it. Nothing half is kept there as if it were whole.',
  },
  REGENT_MYSQL_MISSING: {
    status: 500,
    title: 'No usable mysqld',
    remedy: 'Install a MySQL server ≥ 8.0.26 or set REGENT_MYSQLD to its path.',
  },
  REGENT_NOT_INJECTED: {
    status: 422,
    title: 'The lifecycle agent cannot be put into a pod',
    remedy:
      'Correct in the pod’s template the annotation that the message names: ' +
      'docs/guide/lifecycle-agent.md says what each takes. Without annotation ' +
      'regent.dev/lifecycle-agent the pod is made without the agent.',
  },
  REGENT_SETTINGS_REFUSED: {
    status: 400,
    title: 'mysqld refuses its settings',
    remedy: {
      local:
        'Take the setting that the message names out of serverSettings in the agent’s file, or write it ' +
        'as this version of MySQL knows it; then start that agent anew.',
      kubernetes:
        'Take the setting that the message names out of spec.settings of the MySQLCluster, or write it as this version of MySQL knows it.',
    },
  },
  REGENT_LAUNCHER_SILENT: {
    status: 503,
    title: 'The launcher of mysqld does not answer',
    remedy:
      'Look why the mysql container of the pod does not run (kubectl describe pod): the launcher runs in it. The agent tries again by itself.',
  },
  REGENT_MYSQL_TOO_OLD: { status: 500, title: 'This MySQL is too old', remedy: 'Use MySQL 8.0.26 or newer.' },
  REGENT_BAD_CERTIFICATE: {
    status: 500,
    title: 'A certificate cannot be used',
    remedy:
      'Put another certificate into the Secret or folder that the message names. Where cert-manager ' +
      'makes it, look at its Certificate; a Secret that Regent makes can be deleted, and is made again.',
  },
  REGENT_REDIS_MISSING: {
    status: 500,
    title: 'No usable redis-server',
    remedy: 'Install redis-server or set REGENT_REDIS_SERVER to its path.',
  },
  REGENT_HAPROXY_MISSING: {
    status: 500,
    title: 'No usable haproxy',
    remedy: 'Install HAProxy ≥ 2.6 with Lua, or set REGENT_HAPROXY to its path.',
  },
  REGENT_SETUP_FAILED: {
    status: 500,
    title: 'What Regent runs on could not be set up',
    remedy: 'Install by hand what the message names, and set the variable that it names.',
  },
  REGENT_ALREADY_RUNNING: {
    status: 409,
    title: 'It runs already',
    remedy: 'Use the one that runs where the message says, or stop that one first.',
  },
  REGENT_ADDRESS_IN_USE: {
    status: 409,
    title: 'An address is taken',
    remedy: 'Stop what has the address, or choose another with the option that the message names.',
  },
  REGENT_KUBE_API: {
    status: 502,
    title: 'The Kubernetes API refused a request',
    remedy:
      'Put right what the API server’s own words in the message complain of; for a forbidden verb, the role that Regent runs with.',
  },
  REGENT_KUBE_FORBIDDEN: {
    status: 403,
    title: 'This user of Kubernetes may not do that',
    remedy: 'Ask for a Role with what the message names, or use another user (--context, --kubeconfig).',
  },
  REGENT_KUBE_UNREACHABLE: {
    status: 502,
    title: 'The Kubernetes API does not answer',
    remedy: 'Look at the API server and at the network between it and this process; primaries stay writable meanwhile.',
  },
  REGENT_KUBE_CONFIG: {
    status: 500,
    title: 'No usable way to the Kubernetes API',
    remedy:
      'Run in a pod with a service account, or name a file that kubectl can use with --kubeconfig or KUBECONFIG, and a context that it has.',
  },
  REGENT_DEFINITION_OUTDATED: {
    status: 500,
    title: 'The custom resource definition is older than this Regent',
    remedy: 'Run "helm upgrade" with the chart of this Regent’s version: the definition is a part of it.',
  },
} as const satisfies Record<string, CatalogueEntry>

export type ErrorCode = keyof typeof catalogue

/** What to do about it, where the error is read. */
export function remedyOf(code: ErrorCode, where: Place['kind']): string {
  const remedy: Remedy = catalogue[code].remedy
  const one = typeof remedy === 'string' || remedy instanceof Sentence ? remedy : remedy[where]
  return printed(one, where === 'local' ? localPlace : anyOnKubernetes)
}
