using System;
using System.Diagnostics;

namespace Weave.Runtime
{
    /// <summary>
    /// What rules record of the server at the other end. Each takes what a driver has of it: an <c>EndPoint</c>, a <c>Uri</c>, or a text such as
    /// <c>db.acme.com:5432</c>, <c>tcp:host\instance,1433</c>.
    /// </summary>
    [DebuggerStepThrough]
    public static class Peers
    {
        /// <summary>The host's name or address; null where none is seen.</summary>
        public static string Address(object server)
        {
            string host;
            int port;
            return Read(server, out host, out port) ? host : null;
        }

        /// <summary>The port, an <c>int</c>; null where none is seen.</summary>
        public static object Port(object server)
        {
            string host;
            int port;
            return Read(server, out host, out port) && port > 0 ? (object)port : null;
        }

        private static bool Read(object server, out string host, out int port)
        {
            host = null;
            port = 0;
            string text = server as string;
            if (text == null && server != null && IsOfPlatform(server.GetType().ToString()))
            {
                text = server.ToString();
            }
            if (string.IsNullOrEmpty(text) || text.Length > 300)
            {
                return false;
            }
            text = Bare(text);
            int comma = text.LastIndexOf(',');
            int colon = text.LastIndexOf(':');
            int last = text.LastIndexOf(']');
            bool isAlone = colon > 0 && text.IndexOf(':') == colon;
            int at = comma > 0 ? comma : colon > last && (last > 0 || isAlone) ? colon : -1;
            if (at > 0 && !Number(text.Substring(at + 1).Trim(), out port))
            {
                return false;
            }
            host = (at > 0 ? text.Substring(0, at) : text).Trim();
            int instance = host.IndexOf('\\');
            host = instance < 0 ? host : host.Substring(0, instance);
            if (host.StartsWith("[", StringComparison.Ordinal) && host.EndsWith("]", StringComparison.Ordinal))
            {
                host = host.Substring(1, host.Length - 2);
            }
            host = host == "." || host == "(local)" ? "localhost" : host;
            return host.Length > 0 && port >= 0 && port < 1 << 16 && !HasOneOf(host, "=;()@ \"'");
        }

        private static bool Number(string digits, out int number)
        {
            number = 0;
            for (int i = 0; i < digits.Length; i++)
            {
                if (digits[i] < '0' || digits[i] > '9' || number > 1 << 16)
                {
                    return false;
                }
                number = number * 10 + digits[i] - '0';
            }
            return digits.Length > 0;
        }

        /// <summary>Types whose texts say no more than where a server is.</summary>
        private static bool IsOfPlatform(string type)
        {
            return type == "System.Net.IPEndPoint" || type == "System.Net.DnsEndPoint" || type == "System.Net.Sockets.UnixDomainSocketEndPoint"
                || type == "System.Uri";
        }

        /// <summary>Without what says how to come there, and what is asked for: <c>tcp://</c>, <c>tcp:</c>, <c>Unspecified/</c>, user and path.</summary>
        private static string Bare(string text)
        {
            int scheme = text.IndexOf("://", StringComparison.Ordinal);
            if (scheme > 0)
            {
                text = text.Substring(scheme + 3);
                int path = text.IndexOf('/');
                text = path < 0 ? text : text.Substring(0, path);
                return text.Substring(text.LastIndexOf('@') + 1);
            }
            if (text[0] == '/')
            {
                return text; // a socket's path
            }
            int family = text.IndexOf('/');
            text = text.Substring(family + 1);
            string[] protocols = { "tcp:", "admin:", "lpc:", "np:" };
            for (int i = 0; i < protocols.Length; i++)
            {
                if (text.StartsWith(protocols[i], StringComparison.OrdinalIgnoreCase))
                {
                    return text.Substring(protocols[i].Length);
                }
            }
            return text;
        }

        private static bool HasOneOf(string text, string characters)
        {
            for (int i = 0; i < text.Length; i++)
            {
                if (characters.IndexOf(text[i]) >= 0)
                {
                    return true;
                }
            }
            return false;
        }
    }
}
