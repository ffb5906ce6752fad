using System;
using System.Collections.Generic;
using System.Globalization;

namespace Weave.Runtime
{
    /// <summary>Brings what libraries say under old names to OpenTelemetry's stable conventions.</summary>
    internal static class Conventions
    {
        private const string Status = "rpc.response.status_code";

        /// <summary>gRPC's names of its statuses, in the order of their numbers.</summary>
        private static readonly string[] Statuses =
        {
            "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED",
            "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED",
        };

        /// <summary>Old names, and behind each the stable one.</summary>
        private static readonly string[] Names =
        {
            "db.statement", "db.query.text", "db.system", "db.system.name", "db.name", "db.namespace", "db.operation", "db.operation.name",
            "http.method", "http.request.method", "http.status_code", "http.response.status_code", "http.url", "url.full", "http.target", "url.path",
            "http.scheme", "url.scheme", "http.user_agent", "user_agent.original", "net.peer.name", "server.address", "net.peer.port", "server.port",
            "net.host.name", "server.address", "net.host.port", "server.port", "grpc.method", "rpc.method", "grpc.status_code", Status,
            "messaging.destination", "messaging.destination.name",
        };

        /// <summary>What is said most; the first is a span's own name.</summary>
        internal static readonly string[] Usual =
        {
            "", "error.type", "server.address", "server.port", "http.request.method", "http.response.status_code", "network.protocol.version",
            "http.route", "url.scheme", "url.path", "url.query", "url.full", "user_agent.original", "db.query.text", "db.system.name",
            "db.namespace", "db.operation.name", "rpc.method", "rpc.response.status_code", "messaging.system", "messaging.destination.name",
            "messaging.operation.name", "messaging.operation.type", "rpc.system.name",
        };

        /// <summary>Adds what a source says. The first of a name stays.</summary>
        internal static void Add(List<KeyValuePair<string, object>> tags, string source, string name, object value)
        {
            string text = value as string;
            if (text != null && name == "grpc.method")
            {
                Add(tags, source, "rpc.system.name", "grpc");
                value = text.Length > 0 && text[0] == '/' ? text.Substring(1) : text;
            }
            else if (text != null && name == "grpc.status_code")
            {
                value = StatusOf(text);
            }
            for (int i = 0; i < Names.Length; i += 2)
            {
                if (Names[i] == name)
                {
                    name = Names[i + 1];
                    break;
                }
            }
            if (string.IsNullOrEmpty(name) || value == null)
            {
                return;
            }
            for (int i = 0; i < tags.Count; i++)
            {
                if (tags[i].Key == name)
                {
                    return;
                }
            }
            if (text != null && name == "db.query.text")
            {
                // For PostgreSQL what stands in double quotes is a name.
                value = Sanitizer.Sanitized(text, source == "Npgsql");
            }
            else if (text != null && (name == "url.full" || name == "url.query"))
            {
                value = Unasked(text, name == "url.query");
            }
            tags.Add(new KeyValuePair<string, object>(name, value));
        }

        /// <summary>A URL without user, password and the values of its query.</summary>
        private static string Unasked(string url, bool isQuery)
        {
            int query = isQuery ? 0 : url.Length;
            int host = -1;
            int user = -1;
            bool isPath = false;
            for (int i = 0; i < query; i++)
            {
                char c = url[i];
                if (c == '?')
                {
                    query = i;
                }
                else if (c == '/' && host < 0 && i > 0 && url[i - 1] == '/')
                {
                    host = i + 1;
                }
                else
                {
                    isPath |= c == '/' && host >= 0;
                    user = c == '@' && host >= 0 && !isPath ? i : user;
                }
            }
            string path = user < 0 ? url.Substring(0, query) : url.Substring(0, host) + "***" + url.Substring(user, query - user);
            return query == url.Length ? path : path + "?*";
        }

        /// <summary>What gRPC calls a status, of which libraries tell the number.</summary>
        private static string StatusOf(string number)
        {
            long status;
            bool isKnown = long.TryParse(number, NumberStyles.None, CultureInfo.InvariantCulture, out status) && status < Statuses.Length;
            return isKnown ? Statuses[status] : number;
        }

        /// <summary>A call by gRPC has failed that was answered by another status than OK: <c>error.type</c>, which the client does not tell.</summary>
        internal static void Judge(List<KeyValuePair<string, object>> tags, string source)
        {
            string status = Text(tags, Status);
            if (source == "Grpc.Net.Client" && status != null && status != "OK")
            {
                Add(tags, source, "error.type", status);
            }
        }

        /// <summary>The name of a span: what the library says, or, where that is the operation's alone, what the conventions do of HTTP and gRPC.</summary>
        internal static string Name(string display, string operation, List<KeyValuePair<string, object>> tags)
        {
            string method = Text(tags, "http.request.method");
            string route = Text(tags, "http.route");
            if (display != operation)
            {
                return display;
            }
            if (method == null)
            {
                return Text(tags, "rpc.method") ?? display;
            }
            return route == null ? method : method + " " + route;
        }

        private static string Text(List<KeyValuePair<string, object>> tags, string name)
        {
            for (int i = 0; i < tags.Count; i++)
            {
                if (tags[i].Key == name)
                {
                    return tags[i].Value as string;
                }
            }
            return null;
        }
    }
}
