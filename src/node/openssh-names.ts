/**
 * Names that OpenSSH's configuration knows, for reading it where OpenSSH is not there to be asked. As of OpenSSH 9.2p1; recorded
 * from `ssh -G -F none`, `ssh -Q` and ssh_config(5).
 */

/** What an algorithm list is when it is not configured, and what `+`, `-` and `^` change. */
export const DEFAULT_ALGORITHMS: Readonly<Record<string, string>> = {
  ciphers:
    'chacha20-poly1305@openssh.com,aes128-ctr,aes192-ctr,aes256-ctr,aes128-gcm@openssh.com,aes256-gcm@openssh.com',
  kexalgorithms:
    'sntrup761x25519-sha512,sntrup761x25519-sha512@openssh.com,curve25519-sha256,curve25519-sha256@libssh.org,' +
    'ecdh-sha2-nistp256,ecdh-sha2-nistp384,ecdh-sha2-nistp521,diffie-hellman-group-exchange-sha256,' +
    'diffie-hellman-group16-sha512,diffie-hellman-group18-sha512,diffie-hellman-group14-sha256',
  macs:
    'umac-64-etm@openssh.com,umac-128-etm@openssh.com,hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com,' +
    'hmac-sha1-etm@openssh.com,umac-64@openssh.com,umac-128@openssh.com,hmac-sha2-256,hmac-sha2-512,hmac-sha1',
}

const KEYS =
  'ssh-ed25519-cert-v01@openssh.com,ecdsa-sha2-nistp256-cert-v01@openssh.com,ecdsa-sha2-nistp384-cert-v01@openssh.com,' +
  'ecdsa-sha2-nistp521-cert-v01@openssh.com,sk-ssh-ed25519-cert-v01@openssh.com,' +
  'sk-ecdsa-sha2-nistp256-cert-v01@openssh.com,rsa-sha2-512-cert-v01@openssh.com,rsa-sha2-256-cert-v01@openssh.com,' +
  'ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,sk-ssh-ed25519@openssh.com,' +
  'sk-ecdsa-sha2-nistp256@openssh.com,rsa-sha2-512,rsa-sha2-256'

export const DEFAULT_KEY_ALGORITHMS: Readonly<Record<string, string>> = {
  hostkeyalgorithms: KEYS,
  pubkeyacceptedalgorithms: KEYS,
}

/** All names of keys, which a pattern after `+` or `^` is compared with, in OpenSSH's order. */
export const KEY_ALGORITHMS: readonly string[] = [
  'ssh-ed25519',
  'ssh-ed25519-cert-v01@openssh.com',
  'sk-ssh-ed25519@openssh.com',
  'sk-ssh-ed25519-cert-v01@openssh.com',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp256-cert-v01@openssh.com',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp384-cert-v01@openssh.com',
  'ecdsa-sha2-nistp521',
  'ecdsa-sha2-nistp521-cert-v01@openssh.com',
  'sk-ecdsa-sha2-nistp256@openssh.com',
  'sk-ecdsa-sha2-nistp256-cert-v01@openssh.com',
  'webauthn-sk-ecdsa-sha2-nistp256@openssh.com',
  'ssh-dss',
  'ssh-dss-cert-v01@openssh.com',
  'ssh-rsa',
  'ssh-rsa-cert-v01@openssh.com',
  'rsa-sha2-256',
  'rsa-sha2-256-cert-v01@openssh.com',
  'rsa-sha2-512',
  'rsa-sha2-512-cert-v01@openssh.com',
]

export const DEFAULT_IDENTITY_FILES: readonly string[] = [
  '~/.ssh/id_rsa',
  '~/.ssh/id_ecdsa',
  '~/.ssh/id_ecdsa_sk',
  '~/.ssh/id_ed25519',
  '~/.ssh/id_ed25519_sk',
  '~/.ssh/id_xmss',
  '~/.ssh/id_dsa',
]

/** Keywords under another name (readconf.c, keywords[]). */
export const ALIASES: Readonly<Record<string, string>> = {
  pubkeyacceptedkeytypes: 'pubkeyacceptedalgorithms',
  smartcarddevice: 'pkcs11provider',
  dsaauthentication: 'pubkeyauthentication',
}

/** Every keyword that is none of a host's settings here, but no mistake either. */
export const OTHER_KEYWORDS: ReadonlySet<string> = new Set(
  `addkeystoagent afslog batchmode bindinterface canonicaldomains canonicalizefallbacklocal canonicalizemaxdots
  canonicalizepermittedcnames casignaturealgorithms challengeresponseauthentication channeltimeout cipher clearallforwardings
  compression compressionlevel connectionattempts controlmaster controlpath controlpersist dynamicforward enableescapecommandline
  enablesshkeysign escapechar exitonforwardfailure fallbacktorsh fingerprinthash forkafterauthentication forwardagent forwardx11
  forwardx11timeout forwardx11trusted gatewayports globalknownhostsfile2 gssapiclientidentity gssapidelegatecredentials
  gssapikexalgorithms gssapikeyexchange gssapirenewalforcesrekey gssapiserveridentity gssapitrustdns hostbasedacceptedalgorithms
  hostbasedauthentication hostbasedkeytypes ignoreunknown ipqos kbdinteractiveauthentication kbdinteractivedevices
  keepalive kerberosauthentication kerberostgtpassing localcommand localforward loglevel logverbose
  nohostauthenticationforlocalhost numberofpasswordprompts obscurekeystroketiming passwordauthentication permitlocalcommand
  permitremoteopen protocol proxyusefdpass pubkeyauthentication rekeylimit remotecommand remoteforward requesttty
  requiredrsasize rhostsauthentication rhostsrsaauthentication rsaauthentication securitykeyprovider sendenv
  serveralivecountmax serveraliveinterval sessiontype setenv skeyauthentication stdinnull streamlocalbindmask
  streamlocalbindunlink syslogfacility tcpkeepalive tisauthentication tunnel tunneldevice updatehostkeys usekeychain
  useprivilegedport user2 userknownhostsfile2 useroaming usersh verifyhostkeydns versionaddendum visualhostkey
  xauthlocation`.split(/\s+/),
)
